package demo

var (
	firstNames = []string{
		"Ximena", "Emiliano", "Citlali", "Diego", "Renata", "Cuauhtémoc", "Valeria", "Santiago", "Itzel", "Leonardo",
		"Regina", "Mateo", "Xóchitl", "Iker", "Camila", "Joaquín", "Fernanda", "Rodrigo", "Lupita", "Ángel",
	}
	lastNames = []string{
		"Hernández", "García", "Martínez", "López", "Ramírez", "Cruz", "Ortega", "Mendoza", "Aguilar", "Navarro",
	}
	squadNames = []string{
		"Ajolotes", "Jaguares", "Quetzales", "Cenzontles", "Tlacuaches", "Coyotes", "Colibríes", "Vaquitas", "Alebrijes", "Nahuales",
		"Nopales", "Magueyes", "Cempasúchiles", "Ahuehuetes", "Volcanes", "Cenotes", "Chinampas", "Trajineras", "Luchadores", "Mariachis",
	}
	sectionNames = []string{"general", "presentaciones", "proyectos", "ayuda"}
	topics       = []string{
		"¿Qué están leyendo este mes?", "Su mejor receta de mole", "Busco equipo para un proyecto", "Recomienden un podcast",
		"¿Cómo empezaron?", "Fotos del fin de semana", "Duda con mi perfil", "Tips para madrugar", "¿Quién va al encuentro?", "Retos de la semana",
	}
	answers = []string{"¡Me apunto!", "Buenísimo, gracias.", "A mí me funcionó igual.", "¿Tienes más detalles?", "Totalmente de acuerdo."}
)
